#define ${upper}_CONTACTS ${count}

/* The same, with the force of each contact on its body along the normal, N: ${names}.
 * Positive where it pushes.
 */
int ${name}_inverse_dynamics_with_contacts(
    const double *y, const double *y_dot, const double *y_ddot, const double *wrench,
    double *effort, double *contact);
