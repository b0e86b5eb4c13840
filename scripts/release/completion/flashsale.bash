# bash completion for flashsale: it asks the program for its commands and flags.

_flashsale_offers() {
	local help name="flashsale${*:+ $*}"
	help=$(flashsale "$@" -h 2>/dev/null)
	awk -v name="$name" '
@OFFERS@
	' <<<"$help"
	[[ $help != *"Flags of the server are taken"* ]] || _flashsale_offers | grep '^-'
}

_flashsale() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=() offers value i
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -* ]] && break
		command+=("${COMP_WORDS[i]}")
	done
	offers=$(_flashsale_offers "${command[@]}")
	value=$(awk -F '\t' -v flag="$before" '$1 == flag { print $2 }' <<<"$offers")
	case $value in
	'') value=$(cut -f 1 <<<"$offers") ;;
	*'|'*) value=${value//|/ } ;;
	*file* | *folder*)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	*) value= ;; # any text: nothing to offer
	esac
	mapfile -t COMPREPLY < <(compgen -W "$value" -- "$word")
}
complete -F _flashsale flashsale
