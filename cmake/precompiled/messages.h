// Precompiled for the folders that speak in our messages, not over gRPC: GCC instantiates at the end of every file what the
// inline functions of gRPC mention, which is half a second each.
#pragma once

#include "cmake/precompiled/plain.h"
#include "locus/v1/admin_service.pb.h"
#include "locus/v1/analysis_service.pb.h"
#include "locus/v1/artifact_service.pb.h"
#include "locus/v1/catalog_service.pb.h"
#include "locus/v1/experiment_service.pb.h"
#include "locus/v1/metric_service.pb.h"
#include "locus/v1/picture_service.pb.h"
#include "locus/v1/worker_service.pb.h"
