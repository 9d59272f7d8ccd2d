# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion of tidemark(1) for bash.

# YAML files that begin with $1, and the folders on the way to one.
_tidemark_yaml() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(
        compgen -f -X '!*.y*ml' -- "$1"
        compgen -d -- "$1"
    )
}

_tidemark() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' i
    local commands="run import follows backfill status query gaps owed reconcile quarantine providers handles reset \
compare migrate migrate-follows verify doctor digest backup config connector token version help"
    local collections="posts links follows transactions accounts import_sessions documents blocks \
gaps owed quarantine"
    local settings="-c --set --help" choices=""
    COMPREPLY=()

    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -*) ;;
        *)
            command=${COMP_WORDS[i]}
            break
            ;;
        esac
    done

    case $before in
    -c | --config)
        _tidemark_yaml "$word"
        return
        ;;
    esac

    case $command in
    "") choices="$commands --help --version" ;;
    help) choices=$commands ;;
    run) choices="--actor $settings" ;;
    import) choices="--provider --since --json --quiet $settings" ;;
    backfill) choices="--hours --wait --no-wait --quiet $settings" ;;
    compare)
        choices="--hours --json $settings"
        if [[ $word != -* ]]; then
            _tidemark_yaml "$word"
            return
        fi
        ;;
    digest)
        choices="--hours --limit --min-shares --format --json $settings"
        if [ "$before" = --format ]; then choices="text markdown html"; fi
        ;;
    status) choices="--watch --json $settings" ;;
    query)
        choices="--where --order --page-size --limit --allow-scan --tail --json --csv --table $settings"
        if [ "$before" = query ]; then choices="$collections $choices"; fi
        ;;
    follows) choices="refresh --json $settings" ;;
    quarantine) choices="retry drop --json $settings" ;;
    owed) choices="retry --json $settings" ;;
    reconcile) choices="--dry-run --json $settings" ;;
    gaps | providers | handles | verify | doctor) choices="--json $settings" ;;
    migrate) choices="--quiet $settings" ;;
    reset)
        choices=$settings
        if [ "$before" = reset ]; then choices="jetstream $choices"; fi
        if [ "$before" = jetstream ]; then choices="live $choices"; fi
        ;;
    migrate-follows) choices="--rollback --truncate --json $settings" ;;
    config) choices="check print docs $settings" ;;
    connector)
        case $before in
        check | try)
            _tidemark_yaml "$word"
            return
            ;;
        esac
        choices="check try docs --stream --json $settings"
        ;;
    backup)
        choices=$settings
        if [[ $word != -* ]]; then
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
        fi
        ;;
    token)
        choices="--help"
        if [ "$COMP_CWORD" -eq 3 ]; then choices="read write admin read,write"; fi
        ;;
    *) choices="--help" ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
}
complete -F _tidemark tidemark
