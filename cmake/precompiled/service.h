// Precompiled for the folders at the edges: gRPC as well.
#pragma once

#include <grpcpp/grpcpp.h>

#include "cmake/precompiled/messages.h"
#include "locus/v1/admin_service.grpc.pb.h"
#include "locus/v1/analysis_service.grpc.pb.h"
#include "locus/v1/artifact_service.grpc.pb.h"
#include "locus/v1/catalog_service.grpc.pb.h"
#include "locus/v1/experiment_service.grpc.pb.h"
#include "locus/v1/metric_service.grpc.pb.h"
#include "locus/v1/worker_service.grpc.pb.h"
