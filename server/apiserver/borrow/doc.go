// Package borrow lets a space be served with the definitions of another one: Space.spec.apis. The
// borrower has its own objects; the lender's server answers for them.
//
// Table knows who borrows what. Guard is the admission plugin that asks for the lender's word.
// Check looks again after a write, because what a lender and a borrower agree on stands in objects
// that are written one by one. The life of a borrowed group:
//
//  1. The admins of the lender annotate their definitions with skerry.dev/shared: "true".
//  2. A Space names the group in spec.apis. Guard judges the write, Check judges it again when it
//     is stored, and the storage takes it back if the lender has changed its mind meanwhile.
//  3. Table reads the Space; requests of the borrower go to the lender's server from then on.
//  4. The lender's definitions cannot go while a borrower has objects of them; a group cannot be
//     given back while the borrower has objects of it.
//
// Of two that write at once, on whichever replicas, at least one sees the other in step 2: each
// looks after it has written.
package borrow
