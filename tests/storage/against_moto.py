"""Runs the contract of artifact stores against moto's S3 server on a free port of loopback.

    against_moto.py build/release/tests/artifacts_test
"""

import os
import subprocess
import sys
import tempfile

import boto3
from moto.server import ThreadedMotoServer


def main() -> int:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    try:
        keys = {"aws_access_key_id": "ada", "aws_secret_access_key": "lovelace"}
        client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **keys)
        client.create_bucket(Bucket="blobs")
        environment = {**os.environ, "LOCUS_S3_ENDPOINT": endpoint}
        ran = subprocess.run([sys.argv[1], "--gtest_filter=*ObjectStore"], env=environment)
        listed = client.list_objects_v2(Bucket="blobs").get("Contents", [])
        unfinished = client.list_multipart_uploads(Bucket="blobs").get("Uploads", [])
        print(f"against moto: {len(listed)} objects, {len(unfinished)} unfinished uploads")
        if not listed or unfinished:
            return 1
        return ran.returncode
    finally:
        server.stop()


if __name__ == "__main__":
    sys.exit(main())
