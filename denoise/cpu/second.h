// The second pass, in patches of 16x16.
static void second_row(const vd_pass *p, vd_sums s, int top, int y) { (void)p, (void)s, (void)top, (void)y; }
