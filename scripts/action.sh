#!/usr/bin/env bash
# What action.yml runs: envdoctor from the action's own files in an environment of its own, then one check in each format that was asked for.
# Its inputs are environment variables, never parts of a script. It fails only where nothing could be set up; the status of the check is
# an output, so that reports are uploaded before the step fails.
set -euo pipefail

words() { # one a line, or separated by spaces; names nothing: no globbing
  local text=$1 word
  set -f
  case $text in
    *$'\n'*) while IFS= read -r word || [ -n "$word" ]; do
      word="${word#"${word%%[![:space:]]*}"}"
      word="${word%"${word##*[![:space:]]}"}"
      if [ -n "$word" ]; then found+=("$word"); fi
    done <<<"$text" ;;
    *) for word in $text; do found+=("$word"); done ;;
  esac
  set +f
}

home="${RUNNER_TEMP:?}/envdoctor"
if [ ! -d "$home/venv" ]; then
  mkdir -p "$home"
  "${ENVDOCTOR_PYTHON:-python3}" -m venv "$home/venv"
  bin="$home/venv/bin"
  [ -d "$bin" ] || bin="$home/venv/Scripts"
  "$bin/python" -m pip install --quiet --disable-pip-version-check "${GITHUB_ACTION_PATH:?}"
fi
bin="$home/venv/bin"
[ -d "$bin" ] || bin="$home/venv/Scripts"

found=()
words "${ENVDOCTOR_ARGS:-}"
if [ -n "${ENVDOCTOR_FAIL_ON:-}" ]; then found+=(--fail-on "$ENVDOCTOR_FAIL_ON"); fi
if [ -n "${ENVDOCTOR_PATIENT:-}" ]; then found+=(--python "$ENVDOCTOR_PATIENT"); fi
found+=(--)
words "${ENVDOCTOR_TARGETS:-}"
if [ "${found[${#found[@]} - 1]}" = -- ]; then unset 'found[${#found[@]}-1]'; fi

code=0
"$bin/envdoctor" check --format github ${found[@]+"${found[@]}"} || code=$?
echo "exit-code=$code" >>"${GITHUB_OUTPUT:?}"

if [ "${ENVDOCTOR_SUMMARY:-true}" = true ] && [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  "$bin/envdoctor" check --format markdown ${found[@]+"${found[@]}"} >>"$GITHUB_STEP_SUMMARY" 2>"$home/summary.log" || true
fi
if [ "${ENVDOCTOR_SARIF:-false}" = true ] && [ "$code" -le 1 ]; then
  report="$(mktemp "$home/envdoctor.XXXXXX")"
  mv "$report" "$report.sarif"
  "$bin/envdoctor" check --format sarif --output "$report.sarif" ${found[@]+"${found[@]}"} 2>"$home/sarif.log" || [ $? -eq 1 ]
  echo "sarif-file=$report.sarif" >>"$GITHUB_OUTPUT"
fi
