/*
 * cgroup.controllers and cgroup.subtree_control are words in one line; a controller is on for the groups below a
 * directory when it stands in the directory's cgroup.subtree_control.
 */
#include "cgroup/controllers.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	const char *knob;
} controllers[_CONTROLLER_COUNT] = {
	[CONTROLLER_MEMORY] = {"memory", "memory.max"},
	[CONTROLLER_PIDS] = {"pids", "pids.max"},
	[CONTROLLER_CPU] = {"cpu", "cpu.max"},
};

const char *controller_name(enum controller controller)
{
	return controllers[controller].name;
}

const char *controller_knob(enum controller controller)
{
	return controllers[controller].knob;
}

static unsigned bit_of(const char *word, size_t size)
{
	for (unsigned i = 0; i < _CONTROLLER_COUNT; i++) {
		if (strlen(controllers[i].name) == size && memcmp(word, controllers[i].name, size) == 0)
			return CONTROLLER_BIT(i);
	}
	return 0;
}

unsigned controllers_parse(const char *text)
{
	unsigned set = 0;

	while (*text != '\0') {
		size_t n = strcspn(text, " \n");

		set |= bit_of(text, n);
		text += n;
		text += strspn(text, " \n");
	}
	return set;
}
