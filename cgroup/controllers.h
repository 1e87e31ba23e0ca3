/* The controllers that hold limits, and sets of them. */
#ifndef CGROUP_CONTROLLERS_H
#define CGROUP_CONTROLLERS_H

#include <stdbool.h>

enum controller {
	CONTROLLER_MEMORY,
	CONTROLLER_PIDS,
	CONTROLLER_CPU,
	_CONTROLLER_COUNT
};

/* A set of controllers has the bit 1 << controller for each. */
#define CONTROLLER_BIT(controller) (1u << (controller))

const char *controller_name(enum controller controller);
/* The file by which it limits: "memory.max". */
const char *controller_knob(enum controller controller);
/* Pure: the set of those named in the text of a cgroup.controllers or cgroup.subtree_control. */
unsigned controllers_parse(const char *text);

#endif
