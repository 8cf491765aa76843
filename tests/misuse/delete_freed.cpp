/* The crime: delete of an object that delete has had already. */
#include "crime.h"

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
