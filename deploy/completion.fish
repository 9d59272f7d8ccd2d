# SPDX-License-Identifier: Apache-2.0
# Completion of tidemark(1) for fish: as tidemark.fish into a folder of $fish_complete_path.

set -l any __fish_use_subcommand
set -l in __fish_seen_subcommand_from

complete -c tidemark -f
complete -c tidemark -l help -s h -d 'say more'
complete -c tidemark -n $any -l version
set -l configured "not $any; and not $in token version help"
complete -c tidemark -n $configured -s c -l config -r -d 'the configuration'
complete -c tidemark -n $configured -l set -x -d 'one setting, PATH=VALUE'
complete -c tidemark -n $any -a run -d 'follow the configured sources into the store'
complete -c tidemark -n $any -a status -d 'what the daemon and each source are at'
complete -c tidemark -n $any -a query -d 'the rows of a collection'
complete -c tidemark -n $any -a digest -d 'what was shared, as text, Markdown or HTML'
complete -c tidemark -n $any -a gaps -d 'intervals that could not be read'
complete -c tidemark -n $any -a owed -d 'what is still to be fetched, and what was given up'
complete -c tidemark -n $any -a reconcile -d 'have all documents that lack fetched again'
complete -c tidemark -n $any -a quarantine -d 'input that could not be used'
complete -c tidemark -n $any -a providers -d 'how each upstream fares'
complete -c tidemark -n $any -a handles -d 'open queries'
complete -c tidemark -n $any -a follows -d 'whose posts are stored; `refresh` reads the lists anew'
complete -c tidemark -n $any -a backfill -d 'have the history of an account read'
complete -c tidemark -n $any -a import -d 'read the whole history of accounts'
complete -c tidemark -n $any -a compare -d 'the posts of two stores, side by side'
complete -c tidemark -n $any -a reset -d 'forget where a source stands'
complete -c tidemark -n $any -a doctor -d 'look at the whole installation and say what to fix'
complete -c tidemark -n $any -a verify -d 'compare the store with its own rules'
complete -c tidemark -n $any -a backup -d 'copy the store while it is in use'
complete -c tidemark -n $any -a migrate -d 'bring the schema to the version of this program'
complete -c tidemark -n $any -a migrate-follows -d 'move from polling to the firehose, or back'
complete -c tidemark -n $any -a config -d 'check, print or document the settings'
complete -c tidemark -n $any -a connector -d 'check or try the description of a provider'
complete -c tidemark -n $any -a token -d 'make a token for serve.tokens_file'
complete -c tidemark -n $any -a version -d 'which tidemark this is'
complete -c tidemark -n $any -a help -d 'what there is, or more of one command'
complete -c tidemark -n "$in run" -l actor -x
complete -c tidemark -n "$in status" -l watch
complete -c tidemark -n "$in status" -l json
complete -c tidemark -n "$in query" -l where -x
complete -c tidemark -n "$in query" -l order -x
complete -c tidemark -n "$in query" -l page-size -x
complete -c tidemark -n "$in query" -l allow-scan
complete -c tidemark -n "$in query" -l limit -x
complete -c tidemark -n "$in query" -l tail
complete -c tidemark -n "$in query" -l json
complete -c tidemark -n "$in query" -l csv
complete -c tidemark -n "$in query" -l table
complete -c tidemark -n "$in digest" -l hours -x
complete -c tidemark -n "$in digest" -l limit -x
complete -c tidemark -n "$in digest" -l min-shares -x
complete -c tidemark -n "$in digest" -l format -x -a 'text markdown html'
complete -c tidemark -n "$in digest" -l json
complete -c tidemark -n "$in gaps" -l json
complete -c tidemark -n "$in owed" -l json
complete -c tidemark -n "$in reconcile" -l dry-run
complete -c tidemark -n "$in reconcile" -l json
complete -c tidemark -n "$in quarantine" -l json
complete -c tidemark -n "$in providers" -l json
complete -c tidemark -n "$in handles" -l json
complete -c tidemark -n "$in follows" -l json
complete -c tidemark -n "$in backfill" -l hours -x
complete -c tidemark -n "$in backfill" -l wait
complete -c tidemark -n "$in backfill" -l no-wait
complete -c tidemark -n "$in backfill" -l quiet
complete -c tidemark -n "$in import" -l provider -x
complete -c tidemark -n "$in import" -l since -x
complete -c tidemark -n "$in import" -l json
complete -c tidemark -n "$in import" -l quiet
complete -c tidemark -n "$in compare" -l hours -x
complete -c tidemark -n "$in compare" -l json
complete -c tidemark -n "$in doctor" -l json
complete -c tidemark -n "$in verify" -l json
complete -c tidemark -n "$in migrate" -l quiet
complete -c tidemark -n "$in migrate-follows" -l rollback
complete -c tidemark -n "$in migrate-follows" -l truncate
complete -c tidemark -n "$in migrate-follows" -l json
complete -c tidemark -n "$in connector" -l stream -x
complete -c tidemark -n "$in connector" -l json
complete -c tidemark -n "$in help" -a "run status query digest gaps owed reconcile quarantine providers"
complete -c tidemark -n "$in help" -a "handles follows backfill import compare reset doctor verify"
complete -c tidemark -n "$in help" -a "backup migrate migrate-follows config connector token version"
complete -c tidemark -n "$in query" -a "posts links follows transactions accounts import_sessions"
complete -c tidemark -n "$in query" -a "documents blocks gaps owed quarantine"
complete -c tidemark -n "$in config" -a "check print docs"
complete -c tidemark -n "$in connector" -a "check try docs"
complete -c tidemark -n "$in owed quarantine" -a retry
complete -c tidemark -n "$in quarantine" -a drop
complete -c tidemark -n "$in follows" -a refresh
complete -c tidemark -n "$in backup compare connector" -F
