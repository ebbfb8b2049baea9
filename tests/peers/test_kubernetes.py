"""The Kubernetes manifests against the schemas of Kubernetes."""
import kubernetes_validate
import pytest
import yaml
from end_to_end import program

MANIFESTS = sorted((program.ROOT / "examples/kubernetes").glob("*.yaml"))


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_is_valid(path):
    for document in yaml.safe_load_all(path.read_text()):
        kubernetes_validate.validate(document, "1.37", strict=True)


def test_a_wrong_field_is_seen():
    documents = list(yaml.safe_load_all((program.ROOT / "examples/kubernetes/serve.yaml").read_text()))
    [deployment] = [each for each in documents if each["kind"] == "Deployment"]
    deployment["spec"]["template"]["spec"]["containers"][0]["securityContext"]["sysAdmin"] = True
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(deployment, "1.37", strict=True)
