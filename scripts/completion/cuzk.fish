# fish completion for cuzk, from the program's own --help.
complete -c cuzk -n __fish_use_subcommand -f -a "(cuzk --help 2>/dev/null | string match -r '^  [a-z]+ .*' | string trim | string replace -r ' +' \t)"
complete -c cuzk -n 'not __fish_use_subcommand' -a "(cuzk (commandline -opc)[2] --help 2>/dev/null | string match -r -- '--[a-z0-9-]+' )"
