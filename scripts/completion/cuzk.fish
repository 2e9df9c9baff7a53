# fish completion for cuzk: commands and options come from the program's own --help.
function __cuzk_commands
    cuzk --help 2>/dev/null | string match -r '^  [a-z]+ .*' | string trim | string replace -r ' +' \t
end
function __cuzk_options
    set -l words (commandline -opc)
    $words[1] $words[2] --help 2>/dev/null | string replace -rf '^  (--[a-z0-9-]+)(?: \S+)? +(.*)' '$1\t$2'
end
function __cuzk_second -a command
    set -l words (commandline -opc)
    test (count $words) -eq 2; and test $words[2] = $command
end
complete -c cuzk -n __fish_use_subcommand -f -a '(__cuzk_commands)'
complete -c cuzk -n __fish_use_subcommand -l help -l version
complete -c cuzk -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -a '(__cuzk_options)'
complete -c cuzk -n '__cuzk_second params' -f -a 'generate inspect check transform path'
complete -c cuzk -n '__cuzk_second bench' -f -a 'field ntt msm spmv prove e2e'
complete -c cuzk -n '__fish_seen_argument -l kind; and test (commandline -opc)[-1] = --kind' -f -a 'porep winning window snap'
