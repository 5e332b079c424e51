package lua

// ACL is what a user of Redis must be allowed to do all that Rushgate does there:
// the filter, the locks, the limits that gateways share, and the clock. It is the
// least, as rules of ACL SETUSER or of a users.acl file:
//
//	user rushgate on >password ~rg:* ~rate:* &rg:* -@all +evalsha …
//
// A [Redis] alone needs the keys rg:* and, to run scripts, EVALSHA, EVAL, INFO, TIME,
// and the commands on hashes and keys that the scripts contain.
const ACL = "~rg:* ~rate:* &rg:* -@all" +
	" +evalsha +eval +info +time" + // scripts, and what they ask of the server
	" +hmget +hset +hdel +hlen +hexists +hkeys +hgetall" + // meta and buyers
	" +get +set +incrby +decrby" + // stock, locks, limits
	" +exists +rename +unlink +del +pexpire +pexpireat +pttl" +
	" +subscribe +publish" // who waits for a lock is woken
