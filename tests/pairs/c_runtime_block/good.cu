#include <cuda_runtime.h>

__global__ void feature_scale(float* __restrict__ x, const float* __restrict__ s, int features) {
    const int f = threadIdx.x;
    x[(size_t)blockIdx.x * features + f] *= s[f];
}

// one thread per feature
cudaError_t scale_features(float* x, const float* s, int samples, int features, cudaStream_t st) {
    if (samples <= 0 || features <= 0 || features > 1024) return cudaErrorInvalidValue;
    feature_scale<<<samples, features, 0, st>>>(x, s, features);
    return cudaGetLastError();
}
