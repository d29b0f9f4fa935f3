#!/usr/bin/env bash
# Runs `assay gate` for action.yml: the report becomes the summary of the job, each test that is slower than its limit an
# error of the job, each that is undecided or failed a warning.
set -uo pipefail

work=$(mktemp -d "${RUNNER_TEMP:-/tmp}/gate.XXXXXX")
export ASSAY_LEDGER=${ASSAY_LEDGER:-$work/ledger.db}
others=()
for other in $OTHER; do others+=(--other "$other"); done
# shellcheck disable=SC2086 # options are several words
assay gate --base "$BASE" "${others[@]}" --max-slowdown "$MAX_SLOWDOWN" $OPTIONS \
    --junit "$work/gate.xml" -o "$work/report.md"
code=$?
if [ -s "$work/report.md" ]; then
    cat "$work/report.md" >> "$GITHUB_STEP_SUMMARY"
    assay report -o "$work/report.html" || true
fi
{
    echo "exit-code=$code"
    echo "report=$work/report.html"
} >> "$GITHUB_OUTPUT"
# One line of the summary in JUnit's file for each test: its name, then what is wrong with it.
if [ -s "$work/gate.xml" ]; then
    name=
    while IFS= read -r line; do
        case $line in *'<testcase '*) name=$(sed 's/.*<testcase [^>]*name="\([^"]*\)".*/\1/' <<< "$line") ;; esac
        said=$(sed -n 's/.*<\(failure\|error\|skipped\)[^>]*message="\([^"]*\)".*/\2/p' <<< "$line")
        case $line in
            *'<failure'*) echo "::error title=$name::$said" ;;
            *'<error'* | *'<skipped'*) echo "::warning title=$name::$said" ;;
        esac
    done < "$work/gate.xml"
fi
exit "$code"
