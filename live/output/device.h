// The device of a virtual camera (v4l2loopback), by the C library, as FFmpeg opens cameras.
#ifndef OUTPUT_DEVICE_H
#define OUTPUT_DEVICE_H
#include <stddef.h>
#include <stdint.h>

// Opens a device for writing. Returns the descriptor or -errno; -ENOTTY if it takes no pictures.
int vf_output_open(const char *path);

// Asks for a format and returns 0 and the device's choice, or -errno.
int vf_output_format(int fd, uint32_t *fourcc, uint32_t *width, uint32_t *height, uint32_t *pitch, uint32_t *size, int hd);

// Writes a picture. Returns 0 or -errno.
int vf_output_write(int fd, const void *picture, size_t size);

void vf_output_close(int fd);
#endif
