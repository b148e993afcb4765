// Package verify holds the tests that keep the repository to its own rules: who may import whom,
// every package and every exported identifier documented, files small enough to read, and large
// types that do not grow. It has no code of its own and nothing imports it.
package verify
