/* Efforts that hold ${mechanism} at home: cc -std=c99 ${name}_example.c ${name}.c -lm */
#include <stdio.h>

#include "${name}.h"

int main(void)
{
  const double y[] = {${home}};
  const double y_dot[] = {${zeros}};
  const double y_ddot[] = {${zeros}};
  const double wrench[] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  double effort[${count}];

  if (${name}_inverse_dynamics(y, y_dot, y_ddot, wrench, effort) != 0) {
    fprintf(stderr, "no efforts for this pose\n");
    return 1;
  }
${printed}  return 0;
}
