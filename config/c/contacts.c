int ${name}_inverse_dynamics(const double *y, const double *y_dot, const double *y_ddot,
                            const double *wrench, double *effort)
{
  double contact[${count}];

  return ${name}_inverse_dynamics_with_contacts(y, y_dot, y_ddot, wrench, effort, contact);
}
