// Texture objects.
#pragma once
#include "state.h"

void free_textures(Context &context);
