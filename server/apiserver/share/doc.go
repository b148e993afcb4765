// Package share keeps one space from taking the API server away from the others. A Limiter stands
// before the handler of each request from outside. The life of one request:
//
//  1. Usage.Admit: the rate of Space.spec.quota, or 429.
//  2. The body is read, within a time and within the bytes of the space, or 408 or 429.
//  3. A seat, or a place in the line of the space (package fair), or 429.
//  4. A watch opens a record in the ledger of package backlog, which bounds what its space has not
//     read yet, and gives its seat back when its answer begins. WatchOf finds the record again, in the
//     storage that feeds the watch.
//  5. Anything else gives its seat back when it is answered, or when its client has kept the answer
//     waiting. So nobody takes a seat away from others by being slow.
//
// The center's own requests and the probes pass by.
package share
