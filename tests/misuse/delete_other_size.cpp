// The misuse: an object is deleted as one of another type.
#include <new>

extern "C" {
#include "misuse.h"
}

struct larger {
    long words[4];
};

int main()
{
    delete static_cast<larger *>(accuse(operator new(1)));
}
