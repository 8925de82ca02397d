#!/bin/sh
# A worker for Halyard in sh: its kind `load` returns how busy the machine is. Copy it, and replace the function `load`.
#
# Name it in halyard.yaml, and check it with: halyard workers test -- ./load.sh
#
# The daemon writes `type`, `job`, `attempt` and `kind` first and without spaces, and the input last, so that the shell can
# read them by itself. To read the input, pass "$line" to jq.

# Messages go to descriptor 3. Everything else that a command prints goes to the log.
exec 3>&1 1>&2

# Lines of up to 4096 bytes are written in one piece, also by several processes at once.
say() { printf '%s\n' "$1" >&3; }

# Prints the output of a job as JSON on one line. A status other than 0 fails the attempt.
load() {
    read -r minute rest < /proc/loadavg && printf '{"load":%s}' "$minute"
}

# Runs in the background. If it is asked to stop, it dies before it says anything.
run() {
    if [ "$kind" != load ]; then
        end="\"type\":\"failed\",$lease,\"code\":\"unknown_kind\",\"message\":\"this worker has no kind $kind\""
    elif result=$(load); then
        end="\"type\":\"succeeded\",$lease,\"output\":$result"
    else
        end="\"type\":\"failed\",$lease,\"code\":\"unreadable\",\"message\":\"the load cannot be read\",\"retryable\":true"
    fi
    # From now on, it is too late to stop.
    trap '' TERM
    say "{$end}"
}

# Sets job, attempt, kind and lease.
read_lease() {
    rest=${line#*'"job":'} job=${rest%%[,\}]*}
    rest=${line#*'"attempt":'} attempt=${rest%%[,\}]*}
    rest=${line#*'"kind":"'} kind=${rest%%'"'*}
    lease="\"job\":$job,\"attempt\":$attempt"
}

while IFS= read -r line; do
    case $line in
    '{"type":"hello","protocol":1,'*)
        say '{"type":"kinds","protocol":1,"kinds":[{"name":"load","summary":"Returns the load of the machine"}]}'
        ;;
    '{"type":"hello",'*)
        echo "this worker speaks version 1 of the protocol"
        exit 76
        ;;
    '{"type":"run",'*)
        read_lease
        say "{\"type\":\"started\",\"attempts\":[{$lease}]}"
        # Forgets the processes that have ended.
        jobs > /dev/null
        run &
        eval "process_${job}_$attempt=$!"
        ;;
    '{"type":"stop",'*)
        read_lease
        eval "process=\${process_${job}_$attempt:-}"
        if [ -n "$process" ] && kill "$process" 2> /dev/null; then
            wait "$process"
            # 143: the process died of SIGTERM and did not say how the attempt ended.
            if [ $? = 143 ]; then
                say "{\"type\":\"failed\",$lease,\"code\":\"stopped\",\"message\":\"the attempt was asked to stop\"}"
            fi
        fi
        ;;
    '{"type":"ping",'*)
        id=${line#*'"id":'}
        say "{\"type\":\"pong\",\"id\":${id%%[,\}]*}}"
        ;;
    '{"type":"drain"'*)
        wait
        exit 0
        ;;
    esac
done

# The daemon is gone.
for process in $(jobs -p); do kill "$process" 2> /dev/null; done
