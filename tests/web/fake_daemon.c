/* The web page over the fake engine: for the browser tests and for working on the page.
 * Usage: fake_daemon [ADDRESS [TOKEN [SCENE]]]. TOKEN "": none; SCENE: empty, crowd. Prints the port on a line; ends with its standard input. */
#include "http/server.h"
#include "unit/http/fake_engine.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    engine e = fake_engine_make(false);
    if (argc > 3)
        e.scene = strcmp(argv[3], "crowd") == 0 ? FAKE_CROWD : FAKE_EMPTY;
    http_server *s;
    http_config cfg = {.listen = argc > 1 ? argv[1] : "127.0.0.1:0",
                       .bearer_token = argc > 2 && *argv[2] ? argv[2] : NULL};
    cuzk_status st = http_server_start(&s, &cfg, &e);
    if (st.code != CUZK_OK) {
        fprintf(stderr, "fake_daemon: %s\n", st.msg);
        return 1;
    }
    printf("%u\n", http_server_port(s));
    fflush(stdout);
    char c;
    while (read(STDIN_FILENO, &c, 1) > 0)
        continue;
    http_server_stop(s);
    return 0;
}
