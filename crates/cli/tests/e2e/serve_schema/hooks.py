"""A check of our own."""

import schemathesis
from schemathesis import GenerationMode


@schemathesis.check
def documented_input_has_the_right_form(context, response, case):
    is_documented = case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE
    if is_documented and response.status_code == 422:
        assert response.json()["code"] != "invalid", response.text
