package motion

import "vidfilter/denoise/plane"

// Vector is a displacement in half-pels; inside the search, above the finest level, in pels.
type Vector struct{ X, Y int }

func (v Vector) plus(x, y int) Vector { return Vector{v.X + x, v.Y + y} }
func (v Vector) times(n int) Vector   { return Vector{v.X * n, v.Y * n} }

// Phase is the half-pel plane that a vector points into, and x, y the whole pels.
func (v Vector) Phase() (phase, x, y int) { return v.X&1 | v.Y&1<<1, v.X >> 1, v.Y >> 1 }

// Length is the sum of the distances across and down.
func (v Vector) Length() int { return max(v.X, -v.X) + max(v.Y, -v.Y) }

// Scaled returns the vector for a plane subsampled by these shifts, in half-pels of that plane.
// Halves are rounded away from zero.
func (v Vector) Scaled(shiftX, shiftY int) Vector {
	return Vector{divide(v.X, 1<<shiftX), divide(v.Y, 1<<shiftY)}
}

// divide rounds to the nearest integer, halves away from zero.
func divide(a, b int) int {
	if a < 0 {
		return -((-2*a + b) / (2 * b))
	}
	return (2*a + b) / (2 * b)
}

// Sides of cells, in samples: of the search, and of the refinement.
const (
	Cell        = 16
	RefinedCell = Cell / 2
)

// Field holds a vector for each cell of a plane, in rows. The cells at the right and at the bottom
// may reach beyond the plane.
type Field struct {
	Cell          int // side of a cell, in samples
	Width, Height int // in cells
	Vectors       []Vector
}

func newField(p plane.Plane, cell int) Field {
	w, h := (p.Width+cell-1)/cell, (p.Height+cell-1)/cell
	return Field{cell, w, h, make([]Vector, w*h)}
}

// Of returns the vector of the cell that holds a luma sample, or of the nearest cell.
func (f Field) Of(x, y int) Vector { return f.at(x/f.Cell, y/f.Cell) }

func (f Field) at(x, y int) Vector {
	x, y = min(max(x, 0), f.Width-1), min(max(y, 0), f.Height-1)
	return f.Vectors[y*f.Width+x]
}

// around returns the vector of the cell around (x, y), a cell of half the side, and the vectors of
// the three cells nearest to it: beside, above or below, and at the corner.
func (f Field) around(x, y int) [4]Vector {
	px, py := min(x/2, f.Width-1), min(y/2, f.Height-1)
	sideX, sideY := px+2*(x&1)-1, py+2*(y&1)-1
	return [4]Vector{f.at(px, py), f.at(sideX, py), f.at(px, sideY), f.at(sideX, sideY)}
}

// fill sets each cell's vector.
func (f Field) fill(vector func(x, y int) Vector) Field {
	plane.Rows(f.Height, func(y int) {
		for x := range f.Width {
			f.Vectors[y*f.Width+x] = vector(x, y)
		}
	})
	return f
}

// Extend returns the field of the frame at distance to, as if all went on as it does from here to
// the frame at distance from, whose field f is.
func (f Field) Extend(from, to int) Field {
	out := f
	out.Vectors = make([]Vector, len(f.Vectors))
	for i, v := range f.Vectors {
		v = v.times(to)
		if from < 0 {
			v = v.times(-1)
		}
		n := max(from, -from)
		out.Vectors[i] = Vector{divide(v.X, n), divide(v.Y, n)}
	}
	return out
}
