# A child in place of agy that costs next to nothing: dozens of them share the machine with what is measured. A prompt names
# a fifo, whose lines it copies to stdout as they come (feeder.ts writes them); then it ends the turn with the account that
# lies beside the fifo. It exits when its stdin ends. Run as `sh relay.sh`, arguments are ignored.
id=$(printf 'c0ffee00-0000-4000-8000-%012d' $$)
printf '{"event":"init","conversation_id":"%s","init":{"model":"gemini-3.8-flash-low","cwd":"/srv/demo","tools":["run_command"],"permission_mode":"always-proceed"}}\n' "$id"
while read -r prompt; do
	case $prompt in *'<fifo>'*) ;; *) continue ;; esac
	fifo=${prompt#*<fifo>}
	fifo=${fifo%%</fifo>*}
	printf '{"event":"step_update","step_update":{"conversation_id":"%s","step_index":0,"state":"DONE","step_type":"user_input"}}\n' "$id"
	cat "$fifo"
	read -r account <"$fifo.account"
	printf '{"event":"result","result":{"conversation_id":"%s","status":"SUCCESS","response":%s,"duration_seconds":4.6,"num_turns":1}}\n' "$id" "$account"
done
