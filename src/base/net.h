/* Listening TCP sockets. */
#ifndef BASE_NET_H
#define BASE_NET_H
#include <netdb.h>
#include <stdint.h>

/* A non-blocking, close-on-exec socket that listens at ai; IPv6 ones take IPv4 too, and a port with
 * lingering connections of a process before is taken. -1 with errno set on failure. */
int net_listen(const struct addrinfo *ai, int backlog);
/* Its port, in host order; 0 when it has none. */
uint16_t net_port(int fd);
#endif
