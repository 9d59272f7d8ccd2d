#compdef tidemark
# SPDX-License-Identifier: Apache-2.0
# Completion of tidemark(1) for zsh: as _tidemark into a folder of $fpath.

_tidemark() {
    local -a commands options
    commands=(
        'run:follow the configured sources into the store'
        'status:what the daemon and each source are at'
        'query:the rows of a collection'
        'digest:what was shared, as text, Markdown or HTML'
        'gaps:intervals that could not be read'
        'owed:what is still to be fetched, and what was given up'
        'reconcile:have all documents that lack fetched again'
        'quarantine:input that could not be used'
        'providers:how each upstream fares'
        'handles:open queries'
        'follows:whose posts are stored; `refresh` reads the lists anew'
        'backfill:have the history of an account read'
        'import:read the whole history of accounts'
        'compare:the posts of two stores, side by side'
        'reset:forget where a source stands'
        'doctor:look at the whole installation and say what to fix'
        'verify:compare the store with its own rules'
        'backup:copy the store while it is in use'
        'migrate:bring the schema to the version of this program'
        'migrate-follows:move from polling to the firehose, or back'
        'config:check, print or document the settings'
        'connector:check or try the description of a provider'
        'token:make a token for serve.tokens_file'
        'version:which tidemark this is'
        'help:what there is, or more of one command'
    )
    if ((CURRENT == 2)); then
        _describe -t commands command commands
        compadd -- --help --version
        return
    fi
    case $words[CURRENT-1] in
    -c | --config)
        _files -g '*.(yaml|yml)'
        return
        ;;
    --format)
        compadd text markdown html
        return
        ;;
    esac
    case $words[2] in
    run) options=(--actor) ;;
    status) options=(--watch --json) ;;
    query) options=(--where --order --page-size --limit --allow-scan --tail --json --csv --table) ;;
    digest) options=(--hours --limit --min-shares --format --json) ;;
    reconcile) options=(--dry-run --json) ;;
    gaps | owed | quarantine | providers | handles | follows | doctor | verify) options=(--json) ;;
    backfill) options=(--hours --wait --no-wait --quiet) ;;
    import) options=(--provider --since --json --quiet) ;;
    compare) options=(--hours --json) ;;
    migrate) options=(--quiet) ;;
    migrate-follows) options=(--rollback --truncate --json) ;;
    connector) options=(--stream --json) ;;
    help)
        compadd -- ${commands%%:*}
        return
        ;;
    esac
    case $words[2] in
    token | version) ;;
    *) options+=(-c --set) ;;
    esac
    compadd -- $options --help
    case $words[2] in
    backup | compare | connector) _files ;;
    config) compadd check print docs ;;
    owed) compadd retry ;;
    quarantine) compadd retry drop ;;
    follows) compadd refresh ;;
    query)
        compadd posts links follows transactions accounts import_sessions documents blocks gaps \
            owed quarantine
        ;;
    esac
}

_tidemark "$@"
