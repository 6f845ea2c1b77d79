"""Published releases, images and packages."""

from __future__ import annotations

from app.policy.risk.call import RuleTable
from app.policy.risk.shapes import Rows, Shape, shaped

_TRIES = r"^--(?:dry-?run|no-publish|ci-check|list|help)$"
_ROWS: Rows = {
    "gh glab": (
        Shape(r"release (?:create|upload|edit)\b", unless=_TRIES),
        Shape(r"workflow run\b", having=r"\bprod(?:uction)?\b"),
    ),
    "rake rails": (Shape(r"release$"),),
    "release-it semantic-release np auto": (Shape(unless=_TRIES),),
    "b4 patatt": (Shape(r"send\b", unless=r"^(?:--dry-run|-o|--reflect)$"),),
    "choco nuget dotnet": (Shape(r"(?:nuget )?push\b"),),
    "buildah podman nerdctl img kaniko": (Shape(r"(?:manifest |image )?push\b"),),
    "docker": (
        Shape(r"buildx imagetools create\b", unless=r"^--dry-run$"),
        Shape(r"(?:buildx )?build\b", having=r"^--push$"),
        Shape(r"(?:image )?push\b"),
    ),
    "singularity apptainer helm oras": (Shape(r"push\b"),),
    "vercel now netlify eas": (Shape(having=r"^--prod(?:uction)?$"),),
    "kubectl oc k": (
        Shape(
            r"(?:set|scale|patch|replace|edit|apply|rollout (?:restart|undo)|create|autoscale)\b",
            having=r"^(?:-n|--context=|--namespace=)?(?:\S+[-_./])?prod(?:uction)?(?:[-_.]\S+)?$",
            unless=r"^--dry-run(?:=(?:client|server))?$",
        ),
    ),
    "helm helm3": (
        Shape(
            r"(?:upgrade|install|rollback)\b",
            having=r"^(?:-n|--kube-context=|--namespace=)?(?:\S+[-_./])?prod(?:uction)?(?:[-_.]\S+)?$",
            unless=r"^--dry-run(?:=\w+)?$",
        ),
    ),
    "aws": (
        Shape(r"ecs update-service\b", having=r"^(?:\S+[-_.=])?prod(?:uction)?(?:[-_.]\S+)?$"),
        Shape(r"(?:deploy|codedeploy) create-deployment\b|amplify start-deployment\b"),
        Shape(r"(?:elasticbeanstalk|apprunner) (?:update-environment|start-deployment)\b"),
    ),
    "gcloud": (
        Shape(
            r"(?:(?:alpha|beta) )?(?:run|app|functions) (?:(?:jobs|services) )?(?:deploy|replace)\b"
        ),
        Shape(r"(?:(?:alpha|beta) )?deploy releases (?:create|promote)\b"),
    ),
    "ansible-playbook": (
        Shape(
            having=r"^(?:-i|--inventory=|--limit=)?(?:\S+[-_./])?prod(?:uction)?(?:[-_./]\S*)?$",
            unless=r"^(?:--check|-C|--syntax-check|--list-(?:tasks|hosts|tags))$",
        ),
    ),
    "argocd": (Shape(r"app (?:sync|rollback|set)\b", unless=r"^--dry-run$"),),
    "railway": (Shape(r"up\b|redeploy\b"),),
    "supabase": (Shape(r"db push\b|functions deploy\b"),),
    "clasp": (Shape(r"push\b|deploy\b"),),
    "web-ext": (Shape(r"sign\b"),),
    "appcenter": (Shape(r"distribute release\b"),),
    "pack": (Shape(r"build\b", having=r"^--publish$"),),
    "brew": (Shape(r"bump-(?:formula|cask)-pr\b", unless=r"^--dry-run$|^-n$"),),
    "komac wingetcreate": (Shape(r"(?:update|new|submit)\b", having=r"^--submit$|^-s$|^submit$"),),
    "koji fedpkg bodhi osc": (Shape(r"(?:build|update|updates new|commit|submitrequest)\b"),),
    "knife": (Shape(r"supermarket share\b|cookbook upload\b"),),
    "arduino-cli charmcraft snapcraft juju": (Shape(r"(?:lib )?upload\b|release\b"),),
    "lein boot": (Shape(r"deploy\b|release\b"),),
    "rclone": (Shape(r"link\b"),),
    "dput dupload debsign": (Shape(unless=r"^(?:-s|--simulate|-o)$"),),
}
RULES: RuleTable = shaped("publish", "publishes under a name", _ROWS)
