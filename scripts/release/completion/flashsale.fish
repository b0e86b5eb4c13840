# fish completion for flashsale: it asks the program for its commands and flags.

function __flashsale_offers
    set -l help (flashsale $argv -h 2>/dev/null)
    printf '%s\n' $help | awk -v name=(string join ' ' flashsale $argv) '
@OFFERS@
	'
    string match -q '*Flags of the server are taken*' -- $help; and __flashsale_offers | string match -- '-*'
end

function __flashsale
    set -l before (commandline -opc)
    set -l command
    for word in $before[2..]
        string match -q -- '-*' $word; and break
        set -a command $word
    end
    set -l offers (__flashsale_offers $command)
    for offer in $offers
        set -l parts (string split \t -- $offer)
        test "$parts[1]" = "$before[-1]" -a -n "$parts[2]"; or continue
        switch $parts[2]
            case '*|*'
                string split '|' -- $parts[2]
            case '*file*' '*folder*'
                __fish_complete_path (commandline -ct)
        end
        return
    end
    for offer in $offers
        set -l parts (string split \t -- $offer)
        printf '%s\t%s\n' $parts[1] $parts[3]
    end
end

complete -c flashsale -f -a '(__flashsale)'
