// Package fair shares the API server out between spaces. A request takes a seat while it is
// answered; when all seats are taken it waits in the line of its space, and the lines are served in
// turn, one request each. So a space that floods waits behind itself, and another one waits for one
// seat at most. No space may hold more than half of the seats, so that slow requests of one leave
// room for the others.
//
// It knows nothing of HTTP. Only server/apiserver imports it.
package fair
