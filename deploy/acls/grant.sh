#!/bin/sh
# Prints the commands that grant the mirror's principal what a link needs on both clusters. Changes nothing itself.
# Usage: grant.sh PRINCIPAL SOURCE_BOOTSTRAP TARGET_BOOTSTRAP SOURCE_ALIAS
set -eu
if [ "$#" -ne 4 ]; then
    echo "usage: $0 PRINCIPAL SOURCE_BOOTSTRAP TARGET_BOOTSTRAP SOURCE_ALIAS" >&2
    exit 2
fi
principal=$1 source=$2 target=$3 alias=$4
on() { # on SERVERS RESOURCE... -- OPERATION...
    servers=$1; shift
    resource=""
    while [ "$1" != "--" ]; do resource="$resource $1"; shift; done
    shift
    for operation in "$@"; do
        echo "kafka-acls.sh --bootstrap-server $servers --command-config admin.properties --add" \
            "--allow-principal '$principal' --operation $operation$resource"
    done
}
echo "# Source ($alias): read records, configs, groups; shut producers out in a switch."
on "$source" --topic "'*'" -- Describe Read DescribeConfigs AlterConfigs
on "$source" --group "'*'" -- Describe Read
on "$source" --cluster -- Describe Alter
echo "# Topics of Twinlog on the source: the journal of switches, heartbeats."
on "$source" --topic "'__twinlog'" --resource-pattern-type prefixed -- Create Read Write Describe
echo "# Target: copies, the ledger, checkpoints, heartbeats, positions of groups."
on "$target" --topic "'*'" -- Describe Read Write Create Alter AlterConfigs DescribeConfigs
on "$target" --group "'*'" -- Describe Read
on "$target" --transactional-id "'twinlog.'" --resource-pattern-type prefixed -- Describe Write
on "$target" --cluster -- Create Describe Alter DescribeConfigs IdempotentWrite
