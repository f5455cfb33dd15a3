// Package kernels holds the filters: a plain Go reference that defines correct, and the fast CPU backend
// that is held against it.
package kernels
