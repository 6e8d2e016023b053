/* For controllers: names, ranges, and the pose that measured joints tell.
 *
 * Ranges are those of the joints in the URDF, in m and rad, and of their speeds, per s; HUGE_VAL
 * stands for none. Efforts are the lowest and highest of the motors, N m or N. All functions
 * return 0; 1 if nothing counts, and results are left as they were; 2 if a coordinate or motor is
 * outside its range.
 */
extern const char *const ${name}_freedom_names[${upper}_FREEDOMS];
extern const double ${name}_freedom_lower[${upper}_FREEDOMS];
extern const double ${name}_freedom_upper[${upper}_FREEDOMS];
extern const double ${name}_freedom_velocity[${upper}_FREEDOMS];
extern const char *const ${name}_actuator_names[${upper}_ACTUATORS];
extern const double ${name}_actuator_lower[${upper}_ACTUATORS];
extern const double ${name}_actuator_upper[${upper}_ACTUATORS];
extern const double ${name}_actuator_velocity[${upper}_ACTUATORS];
extern const double ${name}_actuator_effort_lower[${upper}_ACTUATORS];
extern const double ${name}_actuator_effort_upper[${upper}_ACTUATORS];
extern const double ${name}_home[${upper}_FREEDOMS];

/* Frames in which a wrench on the platform may be given. Those fixed to the platform are given in
 * its axes and from its origin, others in the base: rotation, row by row, and origin, m.
 */
#define ${upper}_FRAMES ${frames}
extern const char *const ${name}_frame_names[${upper}_FRAMES];
extern const int ${name}_frame_on_platform[${upper}_FRAMES];
extern const double ${name}_frame_rotation[9 * ${upper}_FRAMES];
extern const double ${name}_frame_origin[3 * ${upper}_FRAMES];

/* A motion, and how it fits what was measured. It belongs to the caller, who keeps it for the next
 * search, which begins there: all zeros but y = ${name}_home at first.
 */
typedef struct {
  double y[${upper}_FREEDOMS];      /* independent positions */
  double y_dot[${upper}_FREEDOMS];  /* per s */
  double y_ddot[${upper}_FREEDOMS]; /* per s^2 */
  double off[${upper}_ACTUATORS];   /* measured positions less those of the closed mechanism */
  double residual;                 /* largest amount of these, rad or m */
  double change;                   /* largest of a motor in the search, rad or part of its travel */
  double conditioning;             /* of the pose by the motors: 1 as at home, 0 if singular */
  int steps;                       /* of the search, each as long as a kinematic evaluation */
} ${name}_motion;

/* The motion whose actuated joints fit measured positions q, velocities q_dot and accelerations
 * q_ddot best, by least squares: encoders of redundant motors never quite agree. The caller decides
 * how large a residual is accepted, how large a change and how small a conditioning: beyond a
 * singularity another pose may fit as well, to which a search from far away may lead. It begins at
 * motion->y, once more at home if it cannot there, and takes ${most} steps at most.
 *
 * Returns 1, with the motion as it was, if no pose fits, the motors do not determine it there, or a
 * number is not finite.
 */
int ${name}_forward_kinematics(const double *q, const double *q_dot, const double *q_ddot,
    ${name}_motion *motion);

/* The efforts of that motion, ${name}_forward_kinematics and ${name}_inverse_dynamics
 * in one. Returns 1, with motion and efforts as they were, if either does. */
int ${name}_feedforward_actuated(const double *q, const double *q_dot, const double *q_ddot,
    const double *wrench, ${name}_motion *motion, double *effort);

/* Velocities and accelerations of the independent coordinates at a pose, by least squares. */
${rates};

/* Actuated positions q at a pose. Their velocities are jacobian y_dot, their accelerations
 * jacobian y_ddot + drift; jacobian[${upper}_FREEDOMS * i + k] is that of motor i by
 * coordinate k. */
${actuated};

/* Equations of motion, mass y_ddot + bias = generalised forces of motors and environment: mass
 * matrix of the independent coordinates, row by row, rotors included; bias with gravity and
 * springs, without friction. */
${equations};
int ${name}_mass_matrix(const double *y, double *mass);
int ${name}_bias(const double *y, const double *y_dot, double *bias);

/* Axes of the platform's frame in the base, row by row, and its origin, m, at a pose. */
${platform};

/* Adds to a wrench, as ${name}_inverse_dynamics takes it, one that is measured in the axes of frame
 * number `axes`, its force acting at the origin of frame number `point`, at a pose. */
int ${name}_add_wrench(const double *y, int axes, int point, const double *measured, double *wrench);
