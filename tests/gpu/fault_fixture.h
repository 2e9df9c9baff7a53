/* A kernel that goes wrong on purpose. */
#ifndef FAULT_FIXTURE_H
#define FAULT_FIXTURE_H
#ifdef __cplusplus
extern "C" {
#endif
/* Write to an address nobody owns, and wait: this process's context on the entered device is dead
 * afterwards. Returns 0 if it is not. */
int fixture_fault(void);
#ifdef __cplusplus
}
#endif
#endif
