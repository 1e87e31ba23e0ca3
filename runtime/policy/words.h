/* The vocabulary's tables as the parser takes them: NULL-terminated, indexed by their enum. */
#ifndef POLICY_WORDS_H
#define POLICY_WORDS_H

#include "runtime/policy/vocabulary.h"

extern const char *const policy_backend_words[];
extern const char *const policy_enforcement_words[];
extern const char *const policy_root_words[]; /* without ROOT_DIRECTORY */
extern const char *const policy_network_words[];
extern const char *const policy_identity_words[];
extern const char *const policy_memory_strategy_words[];
extern const char *const policy_bool_words[];
extern const char *const policy_seccomp_profile_words[];

#endif
