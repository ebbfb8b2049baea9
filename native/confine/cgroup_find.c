// Where our own cgroup is in the file system. The paths in /proc/self/cgroup and the mounts are compared,
// since in a container the mounted part need not begin at the hierarchy's root.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

// Is `word` in a comma-separated list?
static bool listed(const char* list, const char* word) {
  size_t length = strlen(word);
  for (const char* at = list; (at = strstr(at, word)) != NULL; at += length) {
    bool begins = at == list || at[-1] == ',';
    if (begins && (at[length] == ',' || at[length] == '\0')) return true;
  }
  return false;
}

// Our own path in the hierarchy of `controller`; "" means version 2.
static bool own_path(const char* controller, char* out, size_t size) {
  char line[PATH_MAX + 64];
  bool found = false;
  FILE* file = fopen("/proc/self/cgroup", "re");
  if (file == NULL) return false;
  while (!found && fgets(line, sizeof line, file) != NULL) {
    char* controllers = strchr(line, ':');
    char* path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
    if (path == NULL) continue;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    found = *controller == '\0' ? controllers[1] == '\0' : listed(controllers + 1, controller);
    if (found) snprintf(out, size, "%s", path);
  }
  fclose(file);
  return found;
}

// A line of mountinfo: id parent device ROOT POINT options [tags] - TYPE source SUPER_OPTIONS
static bool parse_mount(char* line, char** root, char** point, char** type, char** options) {
  char* rest = strstr(line, " - ");
  if (rest == NULL) return false;
  *rest = '\0';
  char* state = NULL;
  char* words[5] = {0};
  for (int i = 0; i < 5; ++i) words[i] = strtok_r(i == 0 ? line : NULL, " ", &state);
  *type = strtok_r(rest + 3, " \n", &state);
  strtok_r(NULL, " \n", &state);
  *options = strtok_r(NULL, " \n", &state);
  *root = words[3];
  *point = words[4];
  return *point != NULL && *type != NULL && *options != NULL;
}

static bool mounted_at(const char* controller, char* root, char* point, size_t size) {
  char line[2 * PATH_MAX];
  bool found = false;
  FILE* file = fopen("/proc/self/mountinfo", "re");
  if (file == NULL) return false;
  while (!found && fgets(line, sizeof line, file) != NULL) {
    char *from = NULL, *to = NULL, *type = NULL, *options = NULL;
    if (strstr(line, "cgroup") == NULL || !parse_mount(line, &from, &to, &type, &options)) continue;
    if (*controller == '\0')
      found = strcmp(type, "cgroup2") == 0;
    else
      found = strcmp(type, "cgroup") == 0 && listed(options, controller);
    if (!found) continue;
    snprintf(root, size, "%s", from);
    snprintf(point, size, "%s", to);
  }
  fclose(file);
  return found;
}

static bool find(const char* controller, char* out, size_t size) {
  char path[PATH_MAX], root[PATH_MAX], point[PATH_MAX];
  if (!own_path(controller, path, sizeof path) || !mounted_at(controller, root, point, sizeof root))
    return false;
  const char* rest = path;
  if (strcmp(root, "/") != 0) {
    size_t length = strlen(root);
    rest = strncmp(path, root, length) == 0 ? path + length : "";
  }
  if (strcmp(rest, "/") == 0 || strstr(rest, "/..") != NULL) rest = "";
  return (size_t)snprintf(out, size, "%s%s", point, rest) < size;
}

bool kw_cgroup_v1(const char* controller, char* out, size_t size) {
  return find(controller, out, size);
}

// The folder that ours go into: our own cgroup, or its parent once kw_cgroup_prepare() has moved us to a
// leaf.
bool kw_cgroup_v2(char* out, size_t size) {
  if (!find("", out, size)) return false;
  char* name = strrchr(out, '/');
  if (name != NULL && strcmp(name, "/kw-supervisor") == 0) *name = '\0';
  return true;
}

bool kw_cgroup_v2_delegates(const char* folder, const char* controller) {
  char path[PATH_MAX], words[512];
  snprintf(path, sizeof path, "%s/cgroup.subtree_control", folder);
  if (kw_read_text(path, words, sizeof words) < 0) return false;
  for (char* at = words; *at != '\0'; ++at)
    if (*at == ' ' || *at == '\n') *at = ',';
  return listed(words, controller);
}
