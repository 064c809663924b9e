/* All that generated operators need of TVM: how their functions are declared. */
#ifndef TVM_DECLARATIONS_H
#define TVM_DECLARATIONS_H

#include <stddef.h>
#include <stdint.h>

#define TVM_DLL

#endif
