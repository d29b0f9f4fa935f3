# Completes words of PROGRAM. Bash ends words at characters that systems have, such as the @ of mariadb@11.8, so the words
# are taken from the line itself.
_NAME() {
    local line=${COMP_LINE:0:COMP_POINT} words word before candidate IFS=$' \t\n'
    set -f
    words=($line)
    set +f
    [[ $line == *[[:space:]] ]] && words+=("")
    word=${words[${#words[@]}-1]}
    # What bash keeps of the word: all before the part that it would have completed.
    before=${word%"$2"}
    COMPREPLY=()
    while IFS= read -r candidate; do
        COMPREPLY+=("${candidate#"$before"}")
    done < <(VARIABLE=bash COMPLETER -- "${words[@]}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/:,] ]]; then
        compopt -o nospace
    fi
}
complete -o bashdefault -o nosort -F _NAME PROGRAM
