		# From the help of a command: each word that may follow it, what that takes, what it is for. TAB stands
		# between them. name is the command, "flashsale sale".
		/^  -/ { flag = $1; value = $2 ~ /^\[/ ? "" : $2 } #   -app-port port  [APP_PORT]
		/^        / && flag { print flag "\t" value "\t" substr($0, 9); flag = "" }
		index($0, name " ") == 1 { # flashsale sale open|close [flags] runs a sale
			split(substr($0, length(name) + 2), words, /[ ,]/)
			# Line 1 tells what the command does: its words are verbs, unless there are some to choose from.
			if (words[1] ~ (NR > 1 ? "^-?[a-z|]+$" : "^[a-z]+[|]")) { gsub(/[|]/, "\n", words[1]); print words[1] }
		}
