package push

import "flashsale/redisx/pipeline"

// Every key of the room. <tag> is the hash tag of a part (pipeline.PartTag).
//
//	push:<tag>:servers        sorted set  server -> last sign of life, Unix ms; only in      a minute each
//	                                      part 0
//	push:<tag>:on:<user>      hash        server -> 1: the user is connected there           30 min
//	push:<tag>:removed        hash        server -> position in the part's log up to which   a day
//	                                      it has ended the subscriptions of removed members
//	push:<tag>:here:<thread>  hash        server -> who subscribes there: "clients users"    a minute
//	                                      and client:user of at most 100
//	push:<tag>:offline        stream      messages to users who are not connected, for the   until posted;
//	                                      hook                                               10,000 each
//	push:<tag>:seen           string      position in the part's log up to which offline     for ever
//	                                      users are found
//	push:<tag>:hook           string      the server that calls the hook; only in part 0     10 s
const prefix = "push:"

func partKey(part int, name string) string { return prefix + pipeline.PartTag(part) + ":" + name }

func userPart(user uint32) int { return pipeline.PartOf(userName(user)) }

func onKey(user uint32) string { return partKey(userPart(user), "on:"+userName(user)) }

func hereKey(thread string) string { return partKey(pipeline.PartOf(thread), "here:"+thread) }
