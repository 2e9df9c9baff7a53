# bash completion for cuzk: commands and options come from the program's own --help.
_cuzk() {
    local cur=${COMP_WORDS[COMP_CWORD]} bin=${COMP_WORDS[0]} words
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words=$("$bin" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
        words="$words --help --version"
    elif [[ $cur == -* ]]; then
        words=$("$bin" "${COMP_WORDS[1]}" --help 2>/dev/null | sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p')
    elif [ "${COMP_WORDS[1]}" = params ] && [ "$COMP_CWORD" -eq 2 ]; then
        words="generate inspect check transform path"
    elif [ "${COMP_WORDS[1]}" = bench ] && [ "$COMP_CWORD" -eq 2 ]; then
        words="field ntt msm spmv prove e2e"
    elif [ "${COMP_WORDS[COMP_CWORD - 1]}" = --kind ]; then
        words="porep winning window snap"
    else
        compopt -o default 2>/dev/null
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _cuzk cuzk
