#!/bin/sh
# check.sh INCLUDE_DIR [PATTERN] prints how the cuda.h in that folder defines each name that ours
# declares (and that matches the pattern), in sorted lines: values of constants, sizes and offsets,
# the exported names of functions, and whether their prototypes match ours. Names missing from that
# cuda.h are listed as absent. Our header and NVIDIA's must give the same output, except for the
# differences listed in libcuda_test.go.
set -eu
ours=$(cd "$(dirname "$0")" && pwd)/include/cuda.h
theirs=${1:?usage: check.sh INCLUDE_DIR [PATTERN]}
cc=${CC:-gcc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# All declarations in our header: kind, name, and for functions the prototype.
awk '
	/^#define CU_/ { print "constant", $2; next }
	/^\tCU[A-Z]*_[A-Z0-9_a-z]+ = / { print "constant", $1; next }
	/^typedef struct .*\{$/ { n = 0; next }
	/^typedef .*;$/ { name = $NF; if (/\(\*/) name = $3; gsub(/[();*]/, "", name); sub(/void.*/, "", name); print "size", name; next }
	/^\t\t\t.*;$/ { name = $NF; gsub(/[*;]|\[.*/, "", name); deep[m++] = name; next }
	/^\t\t\} / { sub(/;/, "", $2); while (m) inner[k++] = $2 "." deep[--m]; next }
	/^\t\} / { sub(/;/, "", $2); field[n++] = $2; while (k) field[n++] = $2 "." inner[--k]; next }
	/^\t.*;$/ { name = $NF; gsub(/[*;]|\[.*/, "", name); field[n++] = name; next }
	/^\} / { sub(/;/, "", $2); print "size", $2; for (i = 0; i < n; i++) print "field", $2, field[i]; n = 0; next }
	/^CUresult / { name = $2; sub(/\(.*/, "", name); args = $0; sub(/^[^(]*/, "", args); sub(/;$/, "", args); print "function", name, args }
' "$ours" | awk -v pattern="${2:-}" '$2 ~ pattern' >"$work/all"

# A declaration missing from theirs would break the whole program: leave it out and list it as
# absent.
: >"$work/absent"
program() {
	echo '#include <cuda.h>'
	echo '#define TEXT_(x) #x'
	echo '#define TEXT(x) TEXT_(x)'
	echo 'int main(void) {'
	awk '
		FILENAME ~ /absent$/ { absent[$1] = 1; next }
		$2 in absent { next }
		$1 == "constant" { printf "__builtin_printf(\"constant %s %%lld\\n\", (long long)%s);\n", $2, $2 }
		$1 == "size" { printf "__builtin_printf(\"size %s %%zu\\n\", sizeof(%s));\n", $2, $2 }
		$1 == "field" {
			printf "__builtin_printf(\"field %s.%s at %%zu size %%zu\\n\", __builtin_offsetof(%s, %s), sizeof(((%s *)0)->%s));\n", $2, $3, $2, $3, $2, $3
		}
		$1 == "function" {
			name = $2; sub(/^[^(]*/, "")
			printf "__builtin_printf(\"function %s %%s %%s\\n\", TEXT(%s), __builtin_types_compatible_p(__typeof__(&%s), CUresult (*)%s) ? \"same\" : \"differs\");\n", name, name, name, $0
		}
	' "$work/absent" "$work/all"
	echo 'return 0; }'
}
while
	program >"$work/check.c"
	! "$cc" -Wno-deprecated-declarations -I "$theirs" -o "$work/check" "$work/check.c" 2>"$work/log"
do
	sed -n "s/.*error: .\([A-Za-z0-9_]*\). undeclared.*/\1/p" "$work/log" | sort -u >"$work/more"
	if [ ! -s "$work/more" ]; then
		cat "$work/log" >&2
		exit 1
	fi
	cat "$work/more" >>"$work/absent"
done
{
	"$work/check"
	sed 's/^/absent /' "$work/absent"
} | LC_ALL=C sort
