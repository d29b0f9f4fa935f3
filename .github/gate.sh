#!/usr/bin/env bash
# Runs `assay gate` for action.yml: the report becomes the summary of the job, each test that is slower than its limit an
# error of the job, each that is undecided or failed a warning.
# Patterns of tests in OPTIONS are for assay, not for the shell.
set -ufo pipefail

work=$(mktemp -d -p "${RUNNER_TEMP:-/tmp}")
export ASSAY_LEDGER=${ASSAY_LEDGER:-$work/ledger.db}
others=()
# shellcheck disable=SC2153 # the variable comes from action.yml
for other in $OTHER; do others+=(--other "$other"); done
# shellcheck disable=SC2086 # options are several words
assay gate --base "$BASE" "${others[@]}" --max-slowdown "$MAX_SLOWDOWN" $OPTIONS \
    --junit "$work/gate.xml" -o "$work/report.md"
code=$?
if [ "$code" = 2 ]; then
    echo "::error title=assay gate::nothing was measured; the log of this step says why"
fi
if [ -s "$work/report.md" ]; then
    cat "$work/report.md" >> "$GITHUB_STEP_SUMMARY"
    assay report -o "$work/report.html" || true
fi
{
    echo "exit-code=$code"
    if [ -s "$work/report.html" ]; then echo "report=$work/report.html"; fi
} >> "$GITHUB_OUTPUT"
# Text of XML as the message of an annotation. Its title escapes `:` and `,` too.
plain() {
    sed -e 's/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&apos;/'"'"'/g; s/&amp;/\&/g' -e 's/%/%25/g'
}
# One line of the summary in JUnit's file for each test: its name, then what is wrong with it.
if [ -s "$work/gate.xml" ]; then
    name=
    while IFS= read -r line; do
        # shellcheck disable=SC2001 # a colon is replaced in what `plain` has written
        case $line in *'<testcase '*) name=$(sed 's/.*<testcase [^>]*name="\([^"]*\)".*/\1/' <<< "$line" | plain | sed 's/:/%3A/g; s/,/%2C/g') ;; esac
        said=$(sed -n 's/.*<\(failure\|error\|skipped\)[^>]*message="\([^"]*\)".*/\2/p' <<< "$line" | plain)
        case $line in
            *'<failure'*) echo "::error title=$name::$said" ;;
            *'<error'* | *'<skipped'*) echo "::warning title=$name::$said" ;;
        esac
    done < "$work/gate.xml"
fi
exit "$code"
