#define ${upper}_INPUTS (3 * ${upper}_FREEDOMS + 6)

/* The same, with the derivatives of the efforts along the closed loops:
 * by_input[${upper}_INPUTS * i + k] is that of effort i by number k of y, y_dot, y_ddot
 * and wrench, one after the other.
 */
int ${name}_inverse_dynamics_derivatives(const double *y, const double *y_dot,
                                        const double *y_ddot, const double *wrench,
                                        double *effort, double *by_input);
