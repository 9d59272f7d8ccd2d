# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion of tidemark(1) for bash.

_tidemark() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' i
    local commands="run import follows backfill status query gaps owed reconcile quarantine providers handles reset \
compare migrate migrate-follows verify doctor digest backup config connector token version help"
    local collections="posts links follows transactions accounts import_sessions documents blocks \
gaps owed quarantine"
    local choices=""
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
        mapfile -t COMPREPLY < <(compgen -f -X '!*.y*ml' -- "$word")
        return
        ;;
    esac

    case $command in
    "") choices="$commands --help" ;;
    run) choices="-c --actor --help" ;;
    import) choices="-c --provider --since --json --help" ;;
    backfill) choices="--hours -c --set --help" ;;
    compare) choices="--hours --json -c --set --help" ;;
    digest)
        choices="--hours --limit --min-shares --format --json -c --set --help"
        if [ "$before" = --format ]; then choices="text markdown html"; fi
        ;;
    status) choices="--watch --json -c --set --help" ;;
    query)
        choices="--where --order --page-size --limit --tail --json --csv --table --help"
        if [ "$before" = query ]; then choices="$collections $choices"; fi
        ;;
    follows) choices="refresh --json -c --set --help" ;;
    quarantine) choices="retry drop --json -c --set --help" ;;
    owed) choices="retry --json -c --set --help" ;;
    reconcile) choices="--dry-run --json -c --set --help" ;;
    gaps | providers | handles | verify | doctor) choices="--json -c --set --help" ;;
    migrate) choices="-c --set --help" ;;
    reset)
        choices="-c --set --help"
        if [ "$before" = reset ]; then choices="jetstream $choices"; fi
        if [ "$before" = jetstream ]; then choices="live $choices"; fi
        ;;
    migrate-follows) choices="--rollback --truncate --json -c --set --help" ;;
    config) choices="check print docs -c --help" ;;
    connector)
        case $before in
        check | try)
            mapfile -t COMPREPLY < <(compgen -f -X '!*.y*ml' -- "$word")
            return
            ;;
        esac
        choices="check try docs --stream --json -c --set --help"
        ;;
    backup)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    *) choices="--json --help" ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
}
complete -F _tidemark tidemark
