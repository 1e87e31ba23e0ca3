# Loops for ever, on two processors.
(while :; do :; done) &
while :; do :; done
