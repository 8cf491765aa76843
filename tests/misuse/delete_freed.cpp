/* The misuse: delete of an object that was deleted before. */
#include "misuse.h"

struct Object {
    char bytes[100];
};

int main()
{
    auto *p = new Object;
    auto *again = static_cast<Object *>(accuse(p));
    delete p;
    delete again;
}
